export interface InstallerFacts {
  readonly downloadUrl: string | undefined;
  readonly signingKey: string | undefined;
}

/** install.sh with the owner's address and public key, where the checked-in file leaves them empty. */
export function filledInstaller(script: string, { downloadUrl, signingKey }: InstallerFacts): string {
  return fill(fill(script, 'default_url', downloadUrl), 'default_key', signingKey);
}

function fill(script: string, name: string, value: string | undefined): string {
  const [line, found] = new RegExp(`^${name}='([^']*)'$`, 'm').exec(script) ?? [];
  if (line === undefined) throw new Error(`install.sh has no line ${name}=''`);
  if (value === undefined || found === value) return script;
  if (found !== '') throw new Error(`install.sh says ${line}, and this release would have '${value}'`);
  if (!/^[\w:/.@+= -]+$/.test(value)) throw new Error(`${JSON.stringify(value)} cannot be written into install.sh`);
  return script.replace(line, () => `${name}='${value}'`);
}
