import { errorTable } from '../../kit/errors.ts';

/** Codes of `provisioning_job.error_code`. */
export const acmeErrors = errorTable({
  ERR_POSTERN_ACME_UNREACHABLE: {
    status: 502,
    explanation:
      'The ACME server cannot be reached, is too slow, or its certificate is not trusted. Check acme_directory, acme_ca_file and outgoing connections. The order is retried.',
  },
  ERR_POSTERN_ACME_RESPONSE: {
    status: 502,
    explanation:
      'The ACME server sent a response that RFC 8555 does not allow, or failed internally. Check that acme_directory is the URL of an ACME directory. The order is retried.',
  },
  ERR_POSTERN_ACME_RATE_LIMITED: {
    status: 429,
    explanation:
      'The ACME server limits how often certificates can be ordered. The order is retried when the server allows it.',
  },
  ERR_POSTERN_ACME_ACCOUNT: {
    status: 403,
    explanation:
      'The ACME server rejected the registration of the account. Check acme_email, acme_eab_key_id and acme_eab_key.',
  },
  ERR_POSTERN_ACME_REJECTED: {
    status: 403,
    explanation:
      'The ACME server refuses to issue a certificate for the name, for example because of a CAA record or its policy. The message has its reason.',
  },
  ERR_POSTERN_ACME_CHALLENGE: {
    status: 403,
    explanation:
      'The ACME server could not verify that this server controls the name. Check that DNS resolves the name to this server and that ports 443 and 80 reach the edge. The message has the details.',
  },
  ERR_POSTERN_ACME_NO_CHALLENGE: {
    status: 403,
    explanation:
      'The ACME server offers none of the challenges in acme_challenges for the name. Add one that it offers; wildcards need acme_dns.',
  },
  ERR_POSTERN_ACME_DNS_PROVIDER: {
    status: 502,
    explanation:
      'A DNS record for dns-01 could not be published with the provider in acme_dns, or no zone of acme_dns has the name. The message has the reason of the provider. The order is retried. `postern doctor` tries the credentials.',
  },
  ERR_POSTERN_ACME_DNS_NOT_VISIBLE: {
    status: 504,
    explanation:
      'The DNS record for dns-01 was published, but not all name servers of the zone show it within acme_dns_timeout. The ACME server was not asked to look. The same order is continued with the next attempt.',
  },
  ERR_POSTERN_ACME_DNS_HOOK: {
    status: 502,
    explanation:
      'The executable of a hook in acme_dns could not be started, failed, or ran longer than acme_dns_hook_timeout.',
  },
  ERR_POSTERN_ACME_PENDING: {
    status: 504,
    explanation:
      'The ACME server has not decided about the order in time. The same order is continued with the next attempt.',
  },
  ERR_POSTERN_ACME_CERTIFICATE: {
    status: 502,
    explanation:
      'The ACME server issued a certificate that cannot be used: it does not fit the name or the key, or it is not valid now. Check the clock of this server.',
  },
});

export type AcmeErrorCode = keyof typeof acmeErrors.rows;
