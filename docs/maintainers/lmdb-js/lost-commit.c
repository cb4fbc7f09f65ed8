/*
 * Shows that opening an LMDB environment while another process commits can lose that process's commits, with the mdb.c
 * that lmdb-js bundles. One process commits a counter and checks that each transaction finds what the one before stored;
 * others only open and close the environment.
 *
 *     cd node_modules/lmdb/dependencies/lmdb/libraries/liblmdb
 *     gcc -O2 -pthread -I. -o /tmp/lost-commit …/lost-commit.c mdb.c midl.c
 *     /tmp/lost-commit DIRECTORY SECONDS OPENERS [readonly]
 *
 * It ends with status 1 if a commit was lost or failed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lmdb.h"

#define MAP_BYTES (1UL << 26)
#define OPENERS_MAX 16

static void require(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "%s: %s\n", what, mdb_strerror(error));
  exit(2);
}

static MDB_env *open_environment(const char *directory, unsigned int flags) {
  MDB_env *environment;
  require(mdb_env_create(&environment), "mdb_env_create");
  require(mdb_env_set_mapsize(environment, MAP_BYTES), "mdb_env_set_mapsize");
  require(mdb_env_open(environment, directory, flags, 0600), "mdb_env_open");
  return environment;
}

static long open_and_close(const char *directory, unsigned int flags, time_t end) {
  long openings = 0;
  while (time(NULL) < end) {
    mdb_env_close(open_environment(directory, flags));
    openings++;
  }
  return openings;
}

/* Commits `last` + 1. `found` is what was stored before, 0 for nothing. Returns LMDB's error. */
static int commit_next(MDB_env *environment, long last, long *found) {
  MDB_txn *transaction;
  MDB_dbi table;
  MDB_val key = {7, "counter"}, value;
  long next = last + 1;
  *found = 0;
  int error = mdb_txn_begin(environment, NULL, 0, &transaction);
  if (error != 0) return error;
  error = mdb_dbi_open(transaction, NULL, 0, &table);
  if (error == 0 && mdb_get(transaction, table, &key, &value) == 0) memcpy(found, value.mv_data, sizeof *found);
  value.mv_size = sizeof next;
  value.mv_data = &next;
  if (error == 0) error = mdb_put(transaction, table, &key, &value, 0);
  if (error == 0) return mdb_txn_commit(transaction);
  mdb_txn_abort(transaction);
  return error;
}

int main(int count, char **arguments) {
  if (count < 4) {
    fprintf(stderr, "lost-commit DIRECTORY SECONDS OPENERS [readonly]\n");
    return 2;
  }
  const char *directory = arguments[1];
  time_t end = time(NULL) + atoi(arguments[2]);
  int openers = atoi(arguments[3]) < OPENERS_MAX ? atoi(arguments[3]) : OPENERS_MAX;
  unsigned int flags = count > 4 && strcmp(arguments[4], "readonly") == 0 ? MDB_RDONLY : 0;
  if (mkdir(directory, 0700) != 0 && errno != EEXIST) require(errno, "mkdir");

  MDB_env *environment = open_environment(directory, 0);
  long found, last = 1, commits = 0, lost = 0;
  require(commit_next(environment, 0, &found), "the first commit");
  mdb_env_close(environment);
  /* Openers begin while this process has no environment, since a child must not use its parent's. */
  for (int i = 0; i < openers; i++) {
    if (fork() == 0) return open_and_close(directory, flags, end) == 0;
  }
  environment = open_environment(directory, 0);
  int error = 0;
  while (time(NULL) < end && error == 0) {
    error = commit_next(environment, last, &found);
    if (error == 0 && found != last) {
      printf("lost: %ld was committed, and the next transaction found %ld\n", last, found);
      lost++;
    }
    last++;
    commits += error == 0;
  }
  while (wait(NULL) > 0) {}
  printf("%ld commits, %ld lost; the last one: %s\n", commits, lost, mdb_strerror(error));
  return lost > 0 || error != 0;
}
