export const NotFound = () => (
  <main className="door">
    <h1>There is no such page</h1>
    <p>
      The address may be mistyped, or from a later version. <a href="/admin/">Open the panel</a>
    </p>
  </main>
)
