/** What every paged list takes. */
export interface PageQuery {
  /** Size of a page, 1 to 100; 100 when left out. */
  readonly limit?: number | undefined;
  /** Only what is older than this id. */
  readonly before_id?: string | undefined;
}
