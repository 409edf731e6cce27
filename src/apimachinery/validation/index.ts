/**
 * The building blocks of validation: rules for names and texts (each returns a list of messages) and for the parts all
 * objects share (each returns field errors). Kinds compose theirs from these.
 */
export * from './conditions.ts'
export * from './ip.ts'
export * from './labels.ts'
export * from './messages.ts'
export * from './names.ts'
export * from './object-meta.ts'
