// The editors run validation and completion in workers, which are served next to this script.

/** File name of each worker, inserted by the build. */
declare const WORKERS: Record<"editor" | "json" | "graphql", string>;

self.MonacoEnvironment = {
  getWorker(_id, label) {
    const name = label === "json" || label === "graphql" ? label : "editor";
    return new Worker(new URL(WORKERS[name], import.meta.url), { name: label });
  },
};
