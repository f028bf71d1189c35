/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-layout.c - prints where the structures of CPython have their fields, as its headers say.
 *
 * test_layout.py compiles it with the headers of each version and compares the output with what
 * print-layout.c prints for the library of that version. */

#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX < 0x03070000
#include <frameobject.h>
#elif PY_VERSION_HEX < 0x03080000
#include <internal/pystate.h>
#include <frameobject.h>
#else
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_code.h>
#else
#include <frameobject.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif
#endif

#include <stddef.h>
#include <stdio.h>

#define PRINT(name, value)       printf ("%s %zu\n", name, (size_t) (value))
#define FIELD(name, type, field) PRINT (name, offsetof (type, field))

#if PY_VERSION_HEX >= 0x030b0000
typedef _PyInterpreterFrame Frame;
#else
typedef PyFrameObject Frame;
#endif

static void
print_threads (void)
{
#if PY_VERSION_HEX >= 0x03070000
  FIELD ("interpreters_head", _PyRuntimeState, interpreters.head);
#else
  PRINT ("interpreters_head", 0); /* the variable interp_head */
#endif
  FIELD ("interp_next", PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030b0000
  FIELD ("interp_threads", PyInterpreterState, threads.head);
#else
  FIELD ("interp_threads", PyInterpreterState, tstate_head);
#endif
  FIELD ("thread_next", PyThreadState, next);
  FIELD ("thread_id", PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030d0000
  FIELD ("thread_frame", PyThreadState, current_frame);
  PRINT ("cframe_frame", 0);
#elif PY_VERSION_HEX >= 0x030b0000
  FIELD ("thread_frame", PyThreadState, cframe);
  FIELD ("cframe_frame", _PyCFrame, current_frame);
#else
  FIELD ("thread_frame", PyThreadState, frame);
  PRINT ("cframe_frame", 0);
#endif
}

static void
print_frame (void)
{
#if PY_VERSION_HEX >= 0x030d0000
  FIELD ("frame_code", Frame, f_executable);
  FIELD ("frame_instr", Frame, instr_ptr);
#else
  FIELD ("frame_code", Frame, f_code);
#if PY_VERSION_HEX >= 0x030b0000
  FIELD ("frame_instr", Frame, prev_instr);
#else
  FIELD ("frame_instr", Frame, f_lasti);
#endif
#endif
#if PY_VERSION_HEX >= 0x030c0000
  FIELD ("frame_previous", Frame, previous);
  FIELD ("frame_entry", Frame, owner);
#if PY_VERSION_HEX >= 0x030e0000
  PRINT ("entry_owner", FRAME_OWNED_BY_INTERPRETER);
#else
  PRINT ("entry_owner", FRAME_OWNED_BY_CSTACK);
#endif
#elif PY_VERSION_HEX >= 0x030b0000
  FIELD ("frame_previous", Frame, previous);
  FIELD ("frame_entry", Frame, is_entry);
  PRINT ("entry_owner", 0);
#else
  FIELD ("frame_previous", Frame, f_back);
  PRINT ("frame_entry", 0);
  PRINT ("entry_owner", 0);
#endif
}

static void
print_code (void)
{
  FIELD ("code_filename", PyCodeObject, co_filename);
#if PY_VERSION_HEX >= 0x030b0000
  FIELD ("code_name", PyCodeObject, co_qualname);
  FIELD ("code_bytes", PyCodeObject, co_code_adaptive);
#else
  FIELD ("code_name", PyCodeObject, co_name);
  PRINT ("code_bytes", 0);
#endif
#if PY_VERSION_HEX >= 0x030a0000
  FIELD ("code_lines", PyCodeObject, co_linetable);
#else
  FIELD ("code_lines", PyCodeObject, co_lnotab);
#endif
  FIELD ("code_firstlineno", PyCodeObject, co_firstlineno);
  FIELD ("code_argcount", PyCodeObject, co_argcount);
  FIELD ("code_flags", PyCodeObject, co_flags);
}

/* Prints what is read of tasks that wait. */
static void
print_coroutines (void)
{
#if PY_VERSION_HEX >= 0x030e0000
  FIELD ("object_type", PyObject, ob_type);
  FIELD ("generator_frame", PyGenObject, gi_iframe);
  FIELD ("generator_state", PyGenObject, gi_frame_state);
  FIELD ("frame_stack", Frame, stackpointer);
  FIELD ("set_used", PySetObject, used);
  FIELD ("set_table", PySetObject, table);
  FIELD ("set_mask", PySetObject, mask);
  PRINT ("first_suspended", FRAME_SUSPENDED & 0xff);
#if PY_VERSION_HEX >= 0x030f0000
  PRINT ("n_suspended", FRAME_SUSPENDED_YIELD_FROM_LOCKED - FRAME_SUSPENDED + 1);
#else
  PRINT ("n_suspended", FRAME_SUSPENDED_YIELD_FROM - FRAME_SUSPENDED + 1);
#endif
#else
  PRINT ("generator_frame", 0);
#endif
}

int
main (void)
{
  PRINT ("version", PY_VERSION_HEX >> 16 << 8);
  print_threads ();
  print_frame ();
  print_code ();
  print_coroutines ();
  FIELD ("text_length", PyASCIIObject, length);
  FIELD ("text_state", PyASCIIObject, state);
  PRINT ("text_ascii", sizeof (PyASCIIObject));
  PRINT ("text_compact", sizeof (PyCompactUnicodeObject));
  FIELD ("bytes_size", PyVarObject, ob_size);
  FIELD ("bytes_data", PyBytesObject, ob_sval);
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
  FIELD ("frame_copy", Frame, tlbc_index);
  FIELD ("code_copies", PyCodeObject, co_tlbc);
#else
  PRINT ("frame_copy", 0);
  PRINT ("code_copies", 0);
#endif
  return 0;
}
