/** The machine, as far as `postern service` touches it. */
export interface ServicePorts {
  /** Words that start this program again, with absolute paths. */
  ownCommand(): readonly string[];
  isRoot(): boolean;
  /** Whether systemd manages this machine. */
  hasSystemd(): boolean;
  exists(path: string): boolean;
  /** The first folder or file on the way to `path` that other users cannot read; null if they can. */
  closedTo(path: string): string | null;
  /** Null if there is none. */
  read(path: string): string | null;
  /** Names of the files in a folder; none if there is no such folder. */
  list(folder: string): readonly string[];
  /** Permissions of a file; null if there is none. */
  modeOf(path: string): number | null;
  /**
   * Creates the folder if needed. A link stays, and its target is written. The file is never readable with another
   * mode.
   */
  write(path: string, text: string, mode: number): Promise<void>;
  /** Whether it was there. */
  remove(path: string): boolean;
  systemctl(args: readonly string[]): { readonly isDone: boolean; readonly output: string };
}
