import type { CheckContext } from '../contract/module.ts';
import { agentIssuerLimits } from './agent-issuers.ts';
import { agentIssuerProblem, issuerProblem, plainHttpHosts } from './issuer-problem.ts';
import { otherSpelling, ownIssuerOf } from './own-issuer.ts';
import type { LoginSettings } from './settings.ts';

/** The problem with an issuer in a module's configuration, or null: agents may name fewer issuers than operators. */
export function checkIssuer(issuer: string, { settings, agentNetwork }: CheckContext<LoginSettings>): string | null {
  const own = ownIssuerOf(settings);
  // It needs no network, so agents may name it too.
  if (issuer === own) return null;
  const problem = issuerProblem(issuer, settings.oidc_http_issuers) ?? otherSpelling(issuer, own);
  if (problem !== null || agentNetwork === undefined) return problem;
  const limits = agentIssuerLimits({
    allowedCidrs: settings.agent_issuer_allow_cidrs,
    isUpstreamAllowed: agentNetwork.isAddressAllowed,
    isPlainHttpAllowed: plainHttpHosts(settings.oidc_http_issuers),
  });
  return agentIssuerProblem(issuer, limits);
}
