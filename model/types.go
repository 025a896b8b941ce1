package model

import "reflect"

// collectionOf returns "set" or "list" for their types, and "" for others.
func collectionOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Set]():
		return "set"
	case reflect.TypeFor[List]():
		return "list"
	}
	return ""
}

// targetOf returns the type that a Ref refers to, and nil for other types.
func targetOf(t reflect.Type) reflect.Type {
	if ref, ok := reflect.Zero(t).Interface().(interface{ target() reflect.Type }); ok {
		return ref.target()
	}
	return nil
}

// isPrefixed reports whether a type is External, whose text begins with its type.
func isPrefixed(t reflect.Type) bool { return t == reflect.TypeFor[External]() }
