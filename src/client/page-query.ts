/** Query parameters of every paged list. */
export interface PageQuery {
  /** Page size, 1 to 100. Default: 100. */
  readonly limit?: number | undefined;
  /** Return only items older than this id. */
  readonly before_id?: string | undefined;
  /** Return only items for which this CEL expression is true, such as `obj.metadata == "prod"`. */
  readonly filter?: string | undefined;
  /** Return only items in which every word of this text occurs, in any case. */
  readonly q?: string | undefined;
  /** Order items by this field, with "-" in front in descending order. */
  readonly order_by?: string | undefined;
  /** With `order_by`: leave out so many of the first items. */
  readonly skip?: number | undefined;
}
