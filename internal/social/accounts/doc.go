// Package accounts creates accounts ([Service]), decides who may sign up ([SignUps]), stores what
// users say about themselves ([Profiles]), and exports and deletes accounts ([Leaving]).
package accounts
