export interface FormHeaders {
  readonly origin: string | undefined;
  /** Sec-Fetch-Site. */
  readonly site: string | undefined;
}

/**
 * Whether a page of this origin sent the form. A page without a referrer sends its forms with `Origin: null`: then only
 * Sec-Fetch-Site tells, which browsers send since 2023. A client that sends neither is no browser with our page.
 */
export function isSameOrigin({ origin, site }: FormHeaders, own: string): boolean {
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined || origin === 'null') return site === 'same-origin';
  return origin === own;
}
