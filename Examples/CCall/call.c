/* call HOST:PORT NAME SECONDS: calls NAME with a tone, says what happens and how loud the other side
 * was, and hangs up. answer HOST:PORT NAME: waits as NAME, and sends back what it hears.
 *
 *     cc call.c -learshot -lm -o call && ln -s call answer */
#include <earshot.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static earshot_endpoint *endpoint;
static _Atomic earshot_call current;
static atomic_int connected, ended;

static void stop(const char *what) {
  fprintf(stderr, "%s: %s\n", what, earshot_error());
  exit(1);
}

static void handle(void *context, const struct earshot_event *event) {
  int answers = *(int *)context;
  if (event->kind == EARSHOT_STATISTICS) return;
  const char *words[] = {event->name, event->reason, event->peer_name, event->text};
  for (int i = 0; i < 4; i++)
    if (*words[i]) printf("%s%s", i ? " " : "", words[i]);
  printf("\n");
  fflush(stdout);
  if (event->kind == EARSHOT_INCOMING_CALL && answers) {
    current = event->call;
    if (earshot_accept(endpoint, event->call, NULL)) stop("accept");
  }
  if (event->kind == EARSHOT_CALL_STATE && !strcmp(event->name, "connected")) connected = 1;
  if (event->kind == EARSHOT_CALL_ENDED) ended = 1;
}

static void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int main(int count, char **words) {
  static int answers;
  const char *program = strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[0];
  answers = !strcmp(program, "answer");
  if (count < (answers ? 3 : 4)) return fprintf(stderr, "usage: call HOST:PORT NAME SECONDS\n"), 2;

  struct earshot_options options = EARSHOT_INIT(options);
  options.rendezvous = words[1];
  options.name = answers ? words[2] : NULL;
  if (earshot_open(&options, handle, &answers, &endpoint)) stop("open");
  if (earshot_wait_registered(endpoint)) stop("register");
  if (!answers) {
    earshot_call call;
    if (earshot_dial(endpoint, words[2], NULL, &call)) stop("dial");
    current = call;
  }

  int16_t block[960];
  double phase = 0, energy = 0, heard = 0;
  long spoken = 0, seconds = answers ? 3600 : atol(words[3]);
  while (!ended && spoken < seconds * 48000) {
    sleep_ms(10);
    size_t there = earshot_read(endpoint, current, block, 960);
    for (size_t i = 0; i < there; i++) energy += (double)block[i] * block[i];
    heard += there;
    if (!answers) {
      there = 480;
      for (size_t i = 0; i < there; i++, phase += 2 * M_PI * 440 / 48000)
        block[i] = (int16_t)(8000 * sin(phase));
    }
    earshot_write(endpoint, current, block, there);
    if (connected) spoken += 480;
  }
  earshot_hang_up(endpoint, current, "that was all");
  for (int i = 0; i < 100 && !ended; i++) sleep_ms(20);
  printf("heard %.1f s, loudness %.0f\n", heard / 48000, heard ? sqrt(energy / heard) : 0.0);
  earshot_close(endpoint);
  return 0;
}
