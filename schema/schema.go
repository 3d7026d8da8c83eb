// Package schema is the contract of the service: the SDL, one file per feature, the models
// generated from it, and the error codes, input bounds and scalars, which both
// endpoints share.
package schema
