// Package users finds users, by id and by name, and lists them. It writes single fields of
// a user for other packages; accounts creates users, and removal deletes them.
package users
