export interface LoginLimits {
  readonly maximum_duration: number;
  readonly inactivity_timeout: number;
}
