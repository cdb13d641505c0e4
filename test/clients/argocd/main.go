// Command argocd runs the components of Argo CD that sync applications: its application controller and its repo server as they
// are, and an in-memory Redis, without which neither of them starts.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	application, repo := controller.NewCommand(), reposerver.NewCommand()
	application.Use, repo.Use = "application-controller", "repo-server"
	root := &cobra.Command{Use: "argocd", SilenceUsage: true}
	root.AddCommand(application, repo, &cobra.Command{
		Use:  "redis ADDRESS",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return serveRedis(args[0]) },
	})
	if err := root.Execute(); err != nil {
		os.Exit(1)
	}
}

// serveRedis serves an in-memory Redis until the process is terminated.
func serveRedis(address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return fmt.Errorf("starting Redis: %w", err)
	}
	defer server.Close()
	done := make(chan os.Signal, 1)
	signal.Notify(done, os.Interrupt, syscall.SIGTERM)
	<-done
	return nil
}
