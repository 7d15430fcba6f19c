import { errorTable } from '../../kit/errors.ts';

/** Errors of routes with access rules. */
export const accessErrors = errorTable({
  ERR_POSTERN_ACCESS_DENIED: {
    status: 403,
    explanation:
      'The requester is known, and the access rules of the route do not let this account in. `postern access test` shows which rule decides.',
  },
  ERR_POSTERN_ACCESS_LOGIN_NEEDED: {
    status: 403,
    explanation:
      'The route has access rules and no login module, so only programs and guests can pass. To let people in, set a login module on the route.',
  },
  ERR_POSTERN_ACCESS_TOKEN_INVALID: {
    status: 401,
    explanation:
      'The bearer token is expired, deleted, of an inactive service account, or not signed by its issuer for an audience of the route. details.reason says which.',
  },
  ERR_POSTERN_ACCESS_TOKEN_MALFORMED: {
    status: 400,
    explanation:
      'The request has several Authorization fields, or a token of a service account in another form than "Authorization: Bearer pst_…".',
  },
  ERR_POSTERN_ACCESS_TOKEN_REQUIRED: {
    status: 401,
    explanation:
      'The route has no login module, and the bearer token is neither that of a service account nor from an issuer in "bearer".',
  },
  ERR_POSTERN_ACCESS_TOKEN_FORBIDDEN: {
    status: 403,
    explanation:
      'The token is valid, and the access rules of the route do not let its service account or workload in. Name the account in an allow rule, or its claims in a bearer entry.',
  },
  ERR_POSTERN_ACCESS_ISSUER_UNAVAILABLE: {
    status: 503,
    explanation:
      'The keys of the issuer of the token cannot be fetched, so it cannot be verified. The log of the server has the reason.',
  },
  ERR_POSTERN_ACCESS_TOKEN_UNVERIFIED: {
    status: 503,
    explanation:
      'For some seconds this node has reached neither the database nor every other node, so it does not know whether the token of the service account exists or was revoked. Send the request again after the time in Retry-After.',
  },
  ERR_POSTERN_GUEST_LINK_SPENT: {
    status: 410,
    explanation:
      'As many browsers as the guest link allows have redeemed it. Raise max_browsers of the link, or create another one.',
  },
  ERR_POSTERN_GUEST_LINK_EXPIRED: {
    status: 410,
    explanation: 'The expires_at of the guest link has passed. Extend the link, or create another one.',
  },
  ERR_POSTERN_GUEST_LINK_REVOKED: {
    status: 410,
    explanation: 'The guest link was deleted, or its route or edge was.',
  },
  ERR_POSTERN_GUEST_LINK_UNKNOWN: {
    status: 410,
    explanation:
      'No guest link has this address on this host. The address may be incomplete, or the route of the link may have no enabled access module.',
  },
  ERR_POSTERN_GUEST_LINK_CROSS_SITE: {
    status: 403,
    explanation:
      'A guest link can be redeemed only by the button on its own page. The request came from another site, or from a program.',
  },
});
