// Package unique claims unique values for records in other hash slots.
package unique
