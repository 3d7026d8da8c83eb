// Package schema is the contract of the service: the SDL, one file per feature, the models
// generated from it, and what both endpoints share beyond types: error codes, input bounds,
// scalars, and the caller.
package schema
