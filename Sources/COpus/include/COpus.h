#pragma once
#if !__has_include(<opus/opus.h>)
#error "libopus is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <opus/opus.h>

/* opus_encoder_ctl and opus_decoder_ctl are variadic, which Swift cannot call: one function a use. */
static inline int earshot_opus_encoder_set(OpusEncoder *encoder, int request, opus_int32 value) {
  return opus_encoder_ctl(encoder, request, value);
}
static inline int earshot_opus_encoder_get(OpusEncoder *encoder, int request, opus_int32 *value) {
  return opus_encoder_ctl(encoder, request, value);
}
static inline int earshot_opus_encoder_reset(OpusEncoder *encoder) {
  return opus_encoder_ctl(encoder, OPUS_RESET_STATE);
}
static inline int earshot_opus_decoder_reset(OpusDecoder *decoder) {
  return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}
