import { X509Certificate } from 'node:crypto';
import { shellWord } from '../../lib/text/shell-word.ts';
import type { CaCertificate } from './ca-ports.ts';

/** Instructions to trust the CA, as lines to copy. */
export function trustHint({ file, pem, domain }: CaCertificate, edgePort: number): string {
  const { fingerprint256 } = new X509Certificate(pem);
  const path = shellWord(file);
  const name = `postern-${domain}`;
  return `
The internal CA of this server is
  ${file}
  SHA-256 ${fingerprint256}
It can issue certificates only for ${domain} and names below it. Copy this file, never the key beside it.

curl, for one request
  curl --cacert ${path} https://app.${domain}${edgePort === 443 ? '' : `:${edgePort}`}/

Node.js
  NODE_EXTRA_CA_CERTS=${path} node app.js

Debian, Ubuntu
  sudo cp ${path} /usr/local/share/ca-certificates/${name}.crt && sudo update-ca-certificates

Fedora, RHEL
  sudo trust anchor ${path}

macOS
  sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${path}

Windows, in an administrator terminal, with a copy of the file
  certutil -addstore -f ROOT certificate.pem

Chrome and Chromium on Linux (package libnss3-tools)
  certutil -d sql:"$HOME/.pki/nssdb" -A -t C,, -n ${name} -i ${path}

Firefox
  Settings, Privacy & Security, View Certificates, Authorities, Import: choose the file, select "identify websites"
`.trim();
}
