/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-writer.c - whole frames reach the output whatever it does, and the written part can
 * be read. */

#include "base/error.h"
#include "base/fd.h"
#include "capture/syscap-frames.h"
#include "capture/syscap-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define START 1000

static int
memory_file (void)
{
  int fd = memfd_create ("test", MFD_CLOEXEC);

  g_assert_cmpint (fd, >=, 0);
  return fd;
}

/* Counts the frames of a file from its start. Fails on anything that is not a whole frame, unless
 * may_be_cut. */
static guint
count_frames (int fd, gboolean may_be_cut, gint64 *end_time)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  LuSyscapRead what;
  guint n = 0;

  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  reader = lu_syscap_reader_new (dup (fd), &error);
  g_assert_no_error (error);
  while ((what = lu_syscap_reader_next (reader, &record, &error)) == LU_SYSCAP_READ_FRAME)
    n++;
  g_assert_no_error (error);
  g_assert_cmpint (what, ==, LU_SYSCAP_READ_END);
  if (!may_be_cut)
    g_assert_false (lu_syscap_reader_is_cut (reader));
  if (end_time != NULL)
    *end_time = lu_syscap_reader_header (reader)->end_time;
  return n;
}

static void
test_header (void)
{
  int fd = memory_file ();
  int copy = dup (fd);
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);
  LuSyscapHeader header;

  g_assert_true (lu_syscap_writer_header (writer, START, 86400ll * G_USEC_PER_SEC, NULL));
  g_assert_true (lu_syscap_write_exit (writer, 1, 7, NULL)); /* before the start: is lifted */
  g_assert_true (lu_syscap_writer_finish (writer, 5000, NULL));
  g_assert_cmpuint (lu_syscap_writer_size (writer), ==, 256 + 24);
  g_assert_cmpint (pread (copy, &header, sizeof header, 0), ==, sizeof header);
  g_assert_cmphex (header.magic, ==, 0xFDCA975E);
  g_assert_cmphex (header.version_and_flags, ==, 0x101);
  g_assert_cmpstr (header.capture_time, ==, "1970-01-02T00:00:00Z");
  g_assert_cmpint (header.time, ==, START);
  g_assert_cmpint (header.end_time, ==, 5000);
  {
    LuSyscapFrame frame;

    g_assert_cmpint (pread (copy, &frame, sizeof frame, 256), ==, sizeof frame);
    g_assert_cmpint (frame.len, ==, 24);
    g_assert_cmpint (frame.cpu, ==, -1);
    g_assert_cmpint (frame.pid, ==, 7);
    g_assert_cmpint (frame.time, ==, START);
    g_assert_cmpint (frame.type, ==, LU_SYSCAP_EXIT);
  }
  close (copy);
}

/* In a file limited to `limit` bytes, the frames that fit are present, the error is reported, and
 * the end time is set. */
static void
write_until_full (int fd, gsize limit)
{
  const LuLabels labels = { .command_line = "a command of some length" };
  int copy = dup (fd);
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);
  g_autoptr (GError) error = NULL;
  struct stat st;
  gint64 end_time = 0;
  guint n;

  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  while (lu_syscap_write_process (writer, START, 5, &labels, &error))
    if (!lu_syscap_writer_flush (writer, &error))
      break;
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, "cannot write the capture"));
  g_clear_error (&error);
  g_assert_false (lu_syscap_write_exit (writer, START, 5, &error)); /* sticky */
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_false (lu_syscap_writer_finish (writer, 9000, &error));

  g_assert_cmpint (fstat (copy, &st), ==, 0);
  g_assert_cmpint (st.st_size, <=, (gint64) limit);
  g_assert_cmpint (st.st_size, ==, (gint64) lu_syscap_writer_size (writer));
  n = count_frames (copy, FALSE, &end_time);
  g_assert_cmpint (n, >, 10);
  g_assert_cmpint (st.st_size, ==, 256 + n * 56);
  g_assert_cmpint (end_time, ==, 9000);
  close (copy);
}

static void
test_file_size_limit (void)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "lu-writer-XXXXXX", NULL);
  struct rlimit old, limit;
  int fd = g_mkstemp (path);

  g_assert_cmpint (fd, >=, 0);
  g_unlink (path);
  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &old), ==, 0);
  limit = old;
  limit.rlim_cur = 10000; /* inside a frame */
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
  write_until_full (fd, 10000);
  setrlimit (RLIMIT_FSIZE, &old);
}

static void
test_full_at_the_end (void)
{
  /* /dev/full refuses each write() like a full disk, but can be neither truncated nor sought */
  int fd = open ("/dev/full", O_WRONLY | O_CLOEXEC);
  g_autoptr (LuSyscapWriter) writer = NULL;
  g_autoptr (GError) error = NULL;

  if (fd < 0)
    {
      g_test_skip ("no /dev/full");
      return;
    }
  writer = lu_syscap_writer_new (fd);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  g_assert_false (lu_syscap_writer_finish (writer, 9000, &error));
  g_assert_nonnull (strstr (error->message, g_strerror (ENOSPC)));
}

static void
test_closed_pipe (void)
{
  int fds[2];
  g_autoptr (LuSyscapWriter) writer = NULL;
  g_autoptr (GError) error = NULL;

  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  writer = lu_syscap_writer_new (fds[1]);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  g_assert_true (lu_syscap_writer_flush (writer, NULL));
  close (fds[0]);
  g_assert_true (lu_syscap_write_exit (writer, START, 1, NULL));
  g_assert_false (lu_syscap_writer_flush (writer, &error));
  g_assert_nonnull (strstr (error->message, "pipe"));
}

/* Fills the pipe and continues until the writer gives up; returns how long that took, in ms. */
static gint64
write_until_it_fails (LuSyscapWriter *writer, GError **error)
{
  gint64 start;

  do
    start = g_get_monotonic_time ();
  while (lu_syscap_write_exit (writer, START, 1, error) && lu_syscap_writer_flush (writer, error));
  return (g_get_monotonic_time () - start) / 1000;
}

static gpointer
stop_soon (gpointer data)
{
  g_usleep (100 * 1000);
  g_assert_cmpint (eventfd_write (GPOINTER_TO_INT (data), 1), ==, 0);
  return NULL;
}

/* The writer waits as long as the recording continues, and hardly at all afterwards. */
static void
test_reader_that_stopped (gconstpointer data)
{
  gboolean is_socket = GPOINTER_TO_INT (data);
  int fds[2], stop_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  g_autoptr (LuSyscapWriter) writer = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread;
  gint64 waited_ms;

  signal (SIGPIPE, SIG_IGN);
  if (is_socket)
    g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
  else
    g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  writer = lu_syscap_writer_new (fds[1]);
  lu_syscap_writer_set_stop (writer, stop_fd);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  thread = g_thread_new ("stop", stop_soon, GINT_TO_POINTER (stop_fd));
  waited_ms = write_until_it_fails (writer, &error);
  g_thread_join (thread);
  g_assert_error (error, LU_ERROR, LU_ERROR_NO_READER);
  g_assert_cmpint (waited_ms, >=,
                   40); /* of the 100, the ones left after filling, and 50 after the stop */
  g_assert_cmpint (waited_ms, <, 1000);
  close (fds[0]);
  close (stop_fd);
}

/* The reader runs before other programs where it may, so that only its sleep makes it slow. */
static gpointer
read_slowly (gpointer data)
{
  const struct sched_param priority = { .sched_priority = 1 };
  guint8 bytes[4096];
  gsize total = 0;
  gssize n;

  pthread_setschedparam (pthread_self (), SCHED_FIFO, &priority);
  while ((n = read (GPOINTER_TO_INT (data), bytes, sizeof bytes)) > 0)
    {
      total += (gsize) n;
      g_usleep (5000);
    }
  return GSIZE_TO_POINTER (total);
}

/* Returns whether a reader that reads after the stop got the rest. */
static gboolean
is_read_to_the_end (void)
{
  int fds[2], stop_fd = eventfd (1, EFD_CLOEXEC | EFD_NONBLOCK);
  g_autoptr (LuSyscapWriter) writer = NULL;
  gboolean is_done;
  GThread *thread;
  gsize size;

  signal (SIGPIPE, SIG_IGN);
  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  writer = lu_syscap_writer_new (fds[1]);
  lu_syscap_writer_set_stop (writer, stop_fd);
  thread = g_thread_new ("reader", read_slowly, GINT_TO_POINTER (fds[0]));
  is_done = lu_syscap_writer_header (writer, START, 0, NULL);
  for (guint i = 0; i < 6000; i++)
    is_done = is_done && lu_syscap_write_exit (writer, START, 1, NULL);
  is_done = is_done && lu_syscap_writer_finish (writer, 5000, NULL);
  size = lu_syscap_writer_size (writer);
  g_clear_pointer (&writer, lu_syscap_writer_free);
  is_done &= GPOINTER_TO_SIZE (g_thread_join (thread)) == size;
  close (fds[0]);
  close (stop_fd);
  return is_done;
}

/* The writer waits for a reader ten times as long as this one sleeps; a machine that stands still
 * for longer spoils a try. */
static void
test_reader_that_is_slow (void)
{
  gboolean is_done = FALSE;

  for (guint tries = 5; tries > 0 && !is_done; tries--)
    is_done = is_read_to_the_end ();
  g_assert_true (is_done);
}

static void
count_signal (int number)
{
}

/* With a slow reader, a non-blocking pipe and constant signals, nothing is lost or repeated. */
static void
test_slow_pipe (void)
{
  const guint n_frames = 20000;
  int fds[2];
  pid_t child;
  int status;

  g_assert_cmpint (pipe2 (fds, O_CLOEXEC), ==, 0);
  child = fork ();
  if (child == 0)
    {
      g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fds[1]);
      struct itimerval timer = { { 0, 500 }, { 0, 500 } };
      struct sigaction action = { .sa_handler = count_signal }; /* no SA_RESTART */
      gboolean ok;

      close (fds[0]);
      fcntl (fds[1], F_SETFL, fcntl (fds[1], F_GETFL) | O_NONBLOCK);
      sigaction (SIGALRM, &action, NULL);
      setitimer (ITIMER_REAL, &timer, NULL);
      ok = lu_syscap_writer_header (writer, START, 0, NULL);
      for (guint i = 0; ok && i < n_frames; i++)
        ok = lu_syscap_write_fork (writer, START + i, 1, (gint32) i, NULL);
      ok = ok && lu_syscap_writer_finish (writer, 0, NULL);
      _exit (ok ? 0 : 1);
    }
  close (fds[1]);
  {
    g_autoptr (LuSyscapReader) reader = lu_syscap_reader_new (fds[0], NULL);
    LuSyscapRecord record;
    guint n = 0;

    g_assert_nonnull (reader);
    while (lu_syscap_reader_next (reader, &record, NULL) == LU_SYSCAP_READ_FRAME)
      {
        g_assert_cmpint (record.type, ==, LU_SYSCAP_FORK);
        g_assert_cmpint (record.fork.child_pid, ==, (gint32) n);
        n++;
      }
    g_assert_cmpuint (n, ==, n_frames);
    g_assert_false (lu_syscap_reader_is_cut (reader));
  }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

static void
test_killed (void)
{
  int fd = memory_file ();
  pid_t child = fork ();
  gint64 end_time = -1;
  struct stat st;

  if (child == 0)
    {
      g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);

      lu_syscap_writer_header (writer, START, 0, NULL);
      for (guint i = 0;; i++)
        if (!lu_syscap_write_fork (writer, START + i, 1, 2, NULL))
          _exit (1);
    }
  do
    {
      g_usleep (1000);
      g_assert_cmpint (fstat (fd, &st), ==, 0);
    }
  while (st.st_size < 1024 * 1024);
  kill (child, SIGKILL);
  waitpid (child, NULL, 0);
  g_assert_cmpuint (count_frames (fd, TRUE, &end_time), >, 30000);
  g_assert_cmpint (end_time, ==, 0);
  close (fd);
}

/* Follows the chain of indexes as Sysprof 51 does: each is a whole frame, before the one after it.
 */
static void
test_index (void)
{
  lu_autofd fd = memory_file ();
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (dup (fd));
  const guint n = 200000;
  LuSyscapHeader header;
  guint64 at, n_indexes = 0;

  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  for (guint i = 0; i < n; i++)
    g_assert_true (lu_syscap_write_exit (writer, START + i, 7, NULL));
  g_assert_true (lu_syscap_writer_finish (writer, START + n, NULL));
  g_assert_cmpint (pread (fd, &header, sizeof header, 0), ==, sizeof header);
  for (at = header.last_index; at != 0; n_indexes++)
    {
      LuSyscapIndexFrame frame;
      guint32 magic;

      g_assert_cmpint (pread (fd, &frame, sizeof frame, (off_t) at), ==, sizeof frame);
      memcpy (&magic, &frame.frame.padding[3], sizeof magic);
      g_assert_cmpuint (frame.frame.type, ==, LU_SYSCAP_TIMESTAMP);
      g_assert_cmpuint (frame.frame.len, ==, sizeof frame);
      g_assert_cmphex (magic, ==, LU_SYSCAP_INDEX_MAGIC);
      g_assert_cmpuint (frame.previous_index, <, at);
      /* Frames between two indexes: 64 Ki of 24 bytes. */
      g_assert_cmpuint (at - frame.previous_index, ==,
                        (frame.previous_index == 0 ? sizeof header : sizeof frame) + 65536 * 24);
      at = frame.previous_index;
    }
  g_assert_cmpuint (n_indexes, ==, n / 65536);
  g_assert_cmpuint (count_frames (fd, FALSE, NULL), ==, n + n_indexes);
}

static void
test_index_of_a_pipe (void)
{
  int ends[2];
  lu_autofd in = -1;
  g_autoptr (LuSyscapWriter) writer = NULL;
  guint8 bytes[sizeof (LuSyscapHeader) + 24 * 10];

  g_assert_cmpint (pipe (ends), ==, 0);
  in = ends[0];
  writer = lu_syscap_writer_new (ends[1]);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  for (guint i = 0; i < 10; i++)
    g_assert_true (lu_syscap_write_exit (writer, START, 7, NULL));
  g_assert_true (lu_syscap_writer_finish (writer, START, NULL));
  g_assert_cmpint (read (in, bytes, sizeof bytes), ==, sizeof bytes);
  g_assert_cmpuint (((LuSyscapHeader *) bytes)->last_index, ==, 0);
}

static void
test_limits_of_texts (void)
{
  int fd = memory_file ();
  int copy = dup (fd);
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);
  g_autofree char *big = g_strnfill (200000, 'x');
  g_autofree char *umlauts = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (LuSyscapReader) reader = NULL;
  LuSyscapRecord record;
  LuFileId file = { .path = big, .build_id = "0123456789abcdef" };
  LuSyscapMapping mapping = { .start = 1, .end = 2, .file = &file };

  for (guint i = 0; i < 100000; i++)
    g_string_append (text, "\xc3\xa4");
  umlauts = g_strdup (text->str);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  g_assert_true (
      lu_syscap_write_process (writer, 0, 1, &(LuLabels){ .command_line = umlauts }, NULL));
  g_assert_true (lu_syscap_write_map (writer, 1, &mapping, NULL));
  g_assert_true (lu_syscap_write_metadata (writer, big, big, NULL));
  g_assert_true (lu_syscap_writer_flush (writer, NULL));

  lseek (copy, 0, SEEK_SET);
  reader = lu_syscap_reader_new (copy, NULL);
  g_assert_nonnull (reader);
  g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_FRAME);
  g_assert_true (g_utf8_validate (record.process.command_line, -1, NULL));
  g_assert_cmpuint (strlen (record.process.command_line), >, 65000);
  g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_FRAME);
  g_assert_cmpstr (record.map.file.build_id, ==, "0123456789abcdef");
  g_assert_cmpuint (strlen (record.map.file.path), >, 65000);
  g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_FRAME);
  g_assert_cmpuint (strlen (record.metadata.key), ==, 39);
}

#define DIGEST "0123456789abcdef0123456789abcdef"

static const struct
{
  LuFileId file;
  guint64 inode;    /* that of the frame, which Sysprof compares */
  const char *tail; /* behind the path */
  gsize tail_size;
} map_cases[] = {
  { { .path = "/a", .inode = 5 }, 5, "", 0 },
  { { .path = "/a", .build_id = "00ff" }, 0, "@00ff", 6 },
  { { .path = "/a", .device = 0x801, .inode = 5 }, 5, "#801:5:0", 9 },
  { { "/a", "00ff", 0x801, 0x10, 7 }, 0, "@00ff\0#801:10:7", 16 },
  { { .path = "/a", .digest = DIGEST }, 0, "=" DIGEST, 34 },
  { { "/a", "00ff", 0x801, 0x10, 7, DIGEST }, 0, "@00ff\0#801:10:7\0=" DIGEST, 50 },
};

/* Only a digest counts as one. */
static const struct
{
  LuFileId file;
  gboolean is_read;
} digest_cases[] = {
  { { .path = "/a", .digest = DIGEST }, TRUE },
  { { .path = "/a", .digest = "" }, FALSE },
  { { .path = "/a", .digest = "0123" }, FALSE },
  { { .path = "/a", .digest = DIGEST "0" }, FALSE },
  { { .path = "/a", .digest = "0123456789abcdef0123456789abcdeg" }, FALSE },
};

/* Returns a reader at the mapping, which is the only frame; *copy: another descriptor of the file.
 */
static LuSyscapReader *
write_mapping_of (LuFileId *file, int *copy)
{
  LuSyscapMapping mapping = { .start = 1, .end = 2, .file = file };
  int fd = memory_file ();
  g_autoptr (LuSyscapWriter) writer = lu_syscap_writer_new (fd);

  *copy = dup (fd);
  g_assert_true (lu_syscap_writer_header (writer, START, 0, NULL));
  g_assert_true (lu_syscap_write_map (writer, 1, &mapping, NULL));
  g_assert_true (lu_syscap_writer_flush (writer, NULL));
  lseek (*copy, 0, SEEK_SET);
  return lu_syscap_reader_new (dup (*copy), NULL);
}

static void
test_maps (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (map_cases); i++)
    {
      LuFileId file = map_cases[i].file;
      lu_autofd copy = -1;
      g_autoptr (LuSyscapReader) reader = write_mapping_of (&file, &copy);
      LuSyscapRecord record;
      guint64 inode;
      char text[64];

      g_assert_cmpint (pread (copy, &inode, sizeof inode, 256 + 48), ==, sizeof inode);
      g_assert_cmpuint (inode, ==, map_cases[i].inode);
      g_assert_cmpint (pread (copy, text, map_cases[i].tail_size, 256 + 56 + 3), ==,
                       map_cases[i].tail_size);
      g_assert_cmpmem (text, map_cases[i].tail_size, map_cases[i].tail, map_cases[i].tail_size);
      g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_FRAME);
      g_assert_cmpstr (record.map.file.path, ==, file.path);
      g_assert_cmpstr (record.map.file.build_id, ==, file.build_id);
      g_assert_cmpuint (record.map.file.device, ==, file.device);
      g_assert_cmpuint (record.map.file.inode, ==, file.inode);
      g_assert_cmpuint (record.map.file.inode_generation, ==, file.inode_generation);
      g_assert_cmpstr (record.map.file.digest, ==, file.digest);
    }
}

static void
test_digests (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (digest_cases); i++)
    {
      LuFileId file = digest_cases[i].file;
      lu_autofd copy = -1;
      g_autoptr (LuSyscapReader) reader = write_mapping_of (&file, &copy);
      LuSyscapRecord record;

      g_assert_cmpint (lu_syscap_reader_next (reader, &record, NULL), ==, LU_SYSCAP_READ_FRAME);
      g_assert_cmpint (record.map.file.digest != NULL, ==, digest_cases[i].is_read);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/output/syscap-writer/header", test_header);
  g_test_add_func ("/output/syscap-writer/file-size-limit", test_file_size_limit);
  g_test_add_func ("/output/syscap-writer/full-at-the-end", test_full_at_the_end);
  g_test_add_func ("/output/syscap-writer/closed-pipe", test_closed_pipe);
  g_test_add_func ("/output/syscap-writer/slow-pipe", test_slow_pipe);
  g_test_add_data_func ("/output/syscap-writer/pipe-that-is-not-read", GINT_TO_POINTER (FALSE),
                        test_reader_that_stopped);
  g_test_add_data_func ("/output/syscap-writer/socket-that-is-not-read", GINT_TO_POINTER (TRUE),
                        test_reader_that_stopped);
  g_test_add_func ("/output/syscap-writer/slow-reader-after-the-stop", test_reader_that_is_slow);
  g_test_add_func ("/output/syscap-writer/killed", test_killed);
  g_test_add_func ("/output/syscap-writer/index", test_index);
  g_test_add_func ("/output/syscap-writer/index-of-a-pipe", test_index_of_a_pipe);
  g_test_add_func ("/output/syscap-writer/limits-of-texts", test_limits_of_texts);
  g_test_add_func ("/output/syscap-writer/maps", test_maps);
  g_test_add_func ("/output/syscap-writer/digests", test_digests);
  return g_test_run ();
}
