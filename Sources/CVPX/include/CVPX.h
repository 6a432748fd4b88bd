#pragma once
#if !__has_include(<vpx/vpx_encoder.h>)
#error "libvpx is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

/* Macros, variadic functions and arrays inside structs, which Swift cannot use: one function each. */
static inline int earshot_vp8_encoder_default(vpx_codec_enc_cfg_t *settings) {
  return vpx_codec_enc_config_default(vpx_codec_vp8_cx(), settings, 0);
}
static inline int earshot_vp8_encoder_init(vpx_codec_ctx_t *encoder,
                                           const vpx_codec_enc_cfg_t *settings) {
  return vpx_codec_enc_init(encoder, vpx_codec_vp8_cx(), settings, 0);
}
static inline int earshot_vp8_decoder_init(vpx_codec_ctx_t *decoder,
                                           const vpx_codec_dec_cfg_t *settings) {
  return vpx_codec_dec_init(decoder, vpx_codec_vp8_dx(), settings, 0);
}
static inline int earshot_vpx_set(vpx_codec_ctx_t *codec, int control, int value) {
  return vpx_codec_control_(codec, control, value);
}
static inline int earshot_vpx_get(vpx_codec_ctx_t *codec, int control, int *value) {
  return vpx_codec_control_(codec, control, value);
}
/* `share` is of the whole bitrate, in per cent, up to and with that layer. */
static inline void earshot_vpx_set_layer(vpx_codec_enc_cfg_t *settings, unsigned layer,
                                         unsigned decimator, unsigned share) {
  settings->ts_rate_decimator[layer] = decimator;
  settings->ts_target_bitrate[layer] = settings->rc_target_bitrate * share / 100;
}
static inline void earshot_vpx_set_layer_id(vpx_codec_enc_cfg_t *settings, unsigned place,
                                            unsigned layer) {
  settings->ts_layer_id[place] = layer;
}
