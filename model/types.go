package model

import "reflect"

// collectionOf returns "set" for Set, "list" for List, and "" for other types.
func collectionOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Set]():
		return "set"
	case reflect.TypeFor[List]():
		return "list"
	}
	return ""
}

// targetOf returns the type that a Ref refers to, or nil for other types.
func targetOf(t reflect.Type) reflect.Type {
	if ref, ok := reflect.Zero(t).Interface().(interface{ target() reflect.Type }); ok {
		return ref.target()
	}
	return nil
}

// isPrefixed reports whether a type is External, whose text starts with its field Type.
func isPrefixed(t reflect.Type) bool { return t == reflect.TypeFor[External]() }
