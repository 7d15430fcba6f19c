import { reportBug } from '../../lib/guarded-listeners.ts';
import type { ClientCertificate, RevocationPolicy, RevocationVerdict } from '../../modules/contract/decides.ts';
import { presentedWith } from '../tls/client-certificate.ts';

const FAILED: RevocationVerdict = {
  refusal: { reason: 'client_certificate_revocation_unknown', message: 'the check failed' },
  unchecked: null,
};

/** A check that fails accepts nobody. */
export function judgeRevocation(
  policy: RevocationPolicy,
  certificate: ClientCertificate,
  nowMs: number,
): RevocationVerdict {
  try {
    return policy.judge(certificate, () => presentedWith(certificate), nowMs);
  } catch (error) {
    reportBug(error, {});
    return FAILED;
  }
}
