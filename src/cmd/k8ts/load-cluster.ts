/** What runs a cluster, loaded when it is needed. The build puts the compiled-code loader in this file's place. */
export const loadCluster = () => import('./cluster-code.ts')

/** Called once when the cluster has started: the code that ran so far may be kept in compiled form. */
export const saveCompiledCode = async (): Promise<void> => {}
