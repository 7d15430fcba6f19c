/** Issuer of logins that a guest link has made: the client id is that of the link. */
export const GUEST_ISSUER = 'postern:guest';
