package model

import "retwis/model/internal/query"

// Explanation is the plan of a query: the scans of indexes, and what gives the order. Its
// String is for people.
type Explanation = query.Explanation

// Step is one index scan of an Explanation.
type Step = query.Step
