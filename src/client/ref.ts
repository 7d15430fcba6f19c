/** Reference to another resource. */
export interface Ref {
  readonly id: string;
  readonly uri: string;
}
