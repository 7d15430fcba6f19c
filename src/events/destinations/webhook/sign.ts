import { createHmac } from 'node:crypto';

/**
 * Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` for each valid secret, so that receivers can rotate secrets.
 */
export function signatureOf(
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
  secrets: readonly string[],
): string {
  return secrets
    .filter((secret) => secret !== '')
    .map((secret) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
