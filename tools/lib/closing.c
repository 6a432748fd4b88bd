// What earshot_close owes its caller: every call is told as ended, nothing of a call is told after its
// end, and nothing at all when it has returned. What tools/library --check runs.
//
// usage: closing HOST:PORT        exit status 0: it keeps that
#include <earshot.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct side {
  pthread_mutex_t lock;
  earshot_endpoint *endpoint;
  int is_closed, is_connected, calls_ended, faults;
  earshot_call ended[16];
};

static void fault(struct side *side, const char *words, const struct earshot_event *event) {
  side->faults++;
  printf("%s: kind %u %s\n", words, event->kind, event->name);
}

static void handle(void *context, const struct earshot_event *event) {
  struct side *side = context;
  // A slow handler: what waits for it must still be told before the end.
  usleep(5000);
  pthread_mutex_lock(&side->lock);
  if (side->is_closed) fault(side, "told after earshot_close had returned", event);
  for (int index = 0; index < side->calls_ended; index++)
    if (event->call != 0 && event->call == side->ended[index])
      fault(side, "told of a call after its end", event);
  if (event->kind == EARSHOT_CALL_ENDED && side->calls_ended < 16)
    side->ended[side->calls_ended++] = event->call;
  if (event->kind == EARSHOT_CALL_STATE && strcmp(event->name, "connected") == 0)
    side->is_connected = 1;
  pthread_mutex_unlock(&side->lock);
  if (event->kind == EARSHOT_INCOMING_CALL)
    earshot_accept(side->endpoint, event->call, NULL);
}

static int open_side(struct side *side, const char *server, const char *name) {
  struct earshot_options options = EARSHOT_INIT(options);
  options.rendezvous = server;
  options.name = name;
  pthread_mutex_init(&side->lock, NULL);
  if (earshot_open(&options, handle, side, &side->endpoint) == EARSHOT_OK &&
      earshot_wait_registered(side->endpoint) == EARSHOT_OK)
    return 0;
  printf("%s: %s\n", name, earshot_error());
  return 1;
}

static int get(struct side *side, const int *value) {
  pthread_mutex_lock(&side->lock);
  int found = *value;
  pthread_mutex_unlock(&side->lock);
  return found;
}

static void end(struct side *side) {
  earshot_close(side->endpoint);
  pthread_mutex_lock(&side->lock);
  side->is_closed = 1;
  pthread_mutex_unlock(&side->lock);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  static struct side caller, callee;
  if (open_side(&callee, words[1], "closing-callee") || open_side(&caller, words[1], NULL)) return 1;
  earshot_call call = 0;
  if (earshot_dial(caller.endpoint, "closing-callee", NULL, &call) != EARSHOT_OK) {
    printf("dial: %s\n", earshot_error());
    return 1;
  }
  for (int tries = 0; tries < 1000 && !get(&caller, &caller.is_connected); tries++) usleep(10000);
  end(&caller);
  // The other side hears of the end by itself.
  for (int tries = 0; tries < 500 && !get(&callee, &callee.calls_ended); tries++) usleep(10000);
  end(&callee);
  usleep(500000);
  int is_whole = caller.is_connected && caller.calls_ended == 1 && callee.calls_ended == 1;
  printf("connected %d, ended %d and %d, faults %d and %d\n", caller.is_connected,
         caller.calls_ended, callee.calls_ended, caller.faults, callee.faults);
  return is_whole && caller.faults == 0 && callee.faults == 0 ? 0 : 1;
}
