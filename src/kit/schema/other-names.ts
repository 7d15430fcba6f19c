/** Field names used by clients of the retired service, accepted in bodies. */
export interface OtherNames {
  /** Maps another name of a field to that field. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Fields that do not exist here and that clients send empty. */
  readonly ignoredIfEmpty?: readonly string[];
  /** Fields that read null here, because other ones do their work: what to use in place of each, for the message. */
  readonly retired?: Readonly<Record<string, string>>;
  /**
   * Fields that the retired service's Python client sends empty with every PATCH that does not name them. In requests
   * with that service's version header, empty counts as absent: a new description must not remove the event sources.
   */
  readonly leftOutIfEmptyOnPatch?: readonly string[];
}
