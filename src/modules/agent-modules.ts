/** Modules that an agent can ask for on addresses of its own. */
export const AGENT_MODULES = ['oidc', 'ip_restriction', 'mutual_tls', 'compression'] as const;
