// Package unique claims unique values for records that are in other hash slots than the values.
package unique
