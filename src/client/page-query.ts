/** Query parameters of every paged list. */
export interface PageQuery {
  /** Page size, 1 to 100. Default: 100. */
  readonly limit?: number | undefined;
  /** Return only items older than this id. */
  readonly before_id?: string | undefined;
  /** Return only items for which this CEL expression is true, such as `obj.metadata == "prod"`. */
  readonly filter?: string | undefined;
}
