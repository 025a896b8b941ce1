// Package accounts creates accounts ([Service]), decides who may sign up ([SignUps]), has what
// users say about themselves ([Profiles]), and ends accounts ([Leaving]).
package accounts
