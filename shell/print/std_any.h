// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STD_ANY_H
#define STD_ANY_H

/**
 * The type of the value of a std::any.
 *
 * It is known by the function that copies and destroys the value, an instance of a template:
 * std::any::_Manager_internal<int>::_S_manage, std::__any_imp::_SmallHandler<int>::__handle.
 */

#include "shell/base/session.h"

/**
 * The name of the type, by that function.
 *
 * @param manager    its address
 * @param is_inside  gets whether the value lies in the std::any, and not in a block of its own
 * @return the session's, until the command ends; NULL if it is another function
 */
const char *std_any_type(struct session *session, uint64_t manager, bool *is_inside);

#endif
