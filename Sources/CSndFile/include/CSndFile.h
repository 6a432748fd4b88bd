#pragma once
#if !__has_include(<sndfile.h>)
#error "libsndfile is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <sndfile.h>
#if !__has_include(<samplerate.h>)
#error "libsamplerate is not installed: run tools/setup first (it installs what is missing with apt-get)"
#endif
#include <samplerate.h>
