/** @peculiar/x509 2.2.0 took time that more than doubles with every line: 12 lines, 20 s. */
export function hostilePem(lines: number, label = 'CERTIFICATE'): string {
  return `-----BEGIN ${label}-----\nA: b\n${'     x\n'.repeat(lines)}!\n-----END ${label}-----\n`;
}
