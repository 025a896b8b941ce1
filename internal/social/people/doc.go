// Package people is what users do with each other: [Follows], mutes and blocks
// ([Relations]), and finding people while a name is typed ([Completions]).
package people
