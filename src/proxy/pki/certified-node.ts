/** Names a node in the certificate that it shows to other nodes. */
export const NODE_URI = 'urn:postern:node:';

const NODE_NAME = /^URI:urn:postern:node:(nd_[0-9A-Za-z]{1,64})$/;

/** The node that a certificate of the peer authority names; null: it names none. */
export function certifiedNode({ subjectAltName }: { readonly subjectAltName: string | undefined }): string | null {
  return NODE_NAME.exec(subjectAltName ?? '')?.[1] ?? null;
}
