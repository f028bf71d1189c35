/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sanitized.h - whether a sanitizer with an allocator of its own is built into this test. */

#pragma once

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_IS_SANITIZED 1
#elif defined __has_feature /* clang has this instead */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_IS_SANITIZED 1
#endif
#endif
#ifndef TEST_IS_SANITIZED
#define TEST_IS_SANITIZED 0
#endif
