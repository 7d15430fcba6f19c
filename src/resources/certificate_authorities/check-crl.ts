import { X509Certificate } from 'node:crypto';
import { fieldsOf } from '../../lib/pki/revocation-list/certificate-fields.ts';
import { ListProblem } from '../../lib/pki/revocation-list/list-problem.ts';
import { isSupported } from '../../lib/pki/revocation-list/list-signature.ts';
import { listsInPem } from '../../lib/pki/revocation-list/read-lists.ts';
import type { RevocationList } from '../../lib/pki/revocation-list/revocation-list.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { CrlMode } from '../../revocation/authority-crl.ts';
import { hasIssuerName, isIssuedBy, NO_CRL_SIGN } from '../../revocation/verified-lists.ts';

export interface CrlConfig {
  readonly ca_pem: string;
  readonly crl_mode: CrlMode;
  readonly crl_pem: string;
  readonly crl_url: string;
}

/** Problems of the fields about revocation. The certificate itself is checked on create. */
export function checkCrl({ ca_pem: caPem, crl_mode: mode, crl_pem: pem, crl_url: url }: CrlConfig): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (mode === 'hard' && pem === '' && url === '') {
    problems.push(
      bodyProblem('crl_mode', 'is "hard", which rejects every client without a list: send crl_pem or crl_url too'),
    );
  }
  const ofUrl = urlProblem(url);
  if (ofUrl !== null) problems.push(bodyProblem('crl_url', ofUrl));
  const ofPem = pem === '' ? null : uploadProblem(pem, caPem);
  if (ofPem !== null) problems.push(bodyProblem('crl_pem', ofPem));
  return problems;
}

function urlProblem(text: string): string | null {
  if (text === '') return null;
  const form = 'must be an absolute http:// or https:// URL without user and fragment';
  if (!URL.canParse(text)) return form;
  const { protocol, username, password, hash } = new URL(text);
  const isPlain = username === '' && password === '' && hash === '';
  return isPlain && /^https?:$/.test(protocol) ? null : form;
}

function uploadProblem(pem: string, caPem: string): string | null {
  const authority = certificateIn(caPem);
  // Reported for ca_pem.
  if (authority === null) return null;
  try {
    return listsProblem(listsInPem(pem), authority);
  } catch (error) {
    if (error instanceof ListProblem) return error.message;
    throw error;
  }
}

/** Lists of intermediates are checked in the handshake: only there is their issuer known. */
function listsProblem(lists: readonly RevocationList[], authority: X509Certificate): string | null {
  const complete = lists.filter(({ isDelta }) => !isDelta);
  if (complete.length === 0) return 'contains only delta lists: send the complete list';
  const own = complete.filter((list) => hasIssuerName(list, authority));
  if (own.length === 0) {
    return 'contains no list of this authority: send the list that this authority issued, and those of its intermediates in the same text';
  }
  if (own.some(({ signature }) => !isSupported(signature))) {
    return 'is signed with an algorithm that is not supported: use SHA-256 or better with RSA or ECDSA, or EdDSA';
  }
  if (!fieldsOf(authority).maySignLists) return NO_CRL_SIGN;
  return own.every((list) => isIssuedBy(list, authority)) ? null : 'has a signature that is not from this authority';
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}
