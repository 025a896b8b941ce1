// Package unique claims the unique values of records that are in other hash slots than
// the values.
package unique
