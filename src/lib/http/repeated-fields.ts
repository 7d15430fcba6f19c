/**
 * Option of HTTP/2 sessions: forward a repeated field as repeated. Without it the runtime throws when it sends
 * `Referer` or `X-Content-Type-Options` a second time, but HTTP leaves the meaning to the recipient (RFC 9110 §5.3).
 * The declared types have it for servers only.
 */
export const REPEATED_FIELDS = { strictSingleValueFields: false } as const;
