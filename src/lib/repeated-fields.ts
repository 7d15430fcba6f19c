/**
 * Option of HTTP/2 sessions: a field that comes twice goes on twice. Without it the runtime throws when it sends `Referer` or
 * `X-Content-Type-Options` a second time, but HTTP leaves it to the recipient what that means (RFC 9110 §5.3). The declared types
 * know it for servers only.
 */
export const REPEATED_FIELDS = { strictSingleValueFields: false } as const;
