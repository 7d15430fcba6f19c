/** Modules that an agent can request on its own endpoints. */
export const AGENT_MODULES = ['oidc', 'ip_restriction', 'mutual_tls', 'compression'] as const;
