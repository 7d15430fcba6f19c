import type { DnsProvider } from '../dns-provider.ts';
import { acmedns } from './acmedns/acmedns.ts';
import { cloudflare } from './cloudflare/cloudflare.ts';
import { hetzner } from './hetzner/hetzner.ts';
import { hook } from './hook/hook.ts';
import { rfc2136 } from './rfc2136/rfc2136.ts';
import { route53 } from './route53/route53.ts';

/** Every kind of DNS service that records can be published with. */
export const dnsProviders: readonly DnsProvider[] = [acmedns, cloudflare, hetzner, hook, rfc2136, route53];
